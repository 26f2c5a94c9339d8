<?php

header('X-Large: ' . str_repeat('0123456789', 300));
echo 'ok';
