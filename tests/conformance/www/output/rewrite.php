<?php

output_add_rewrite_var('sid', 'a b');
echo '<a href="/x?y=1">link</a><a href="http://other.test/">other</a><form action="/f"></form>';
