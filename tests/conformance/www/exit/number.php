<?php

echo 'before';
exit(7);
