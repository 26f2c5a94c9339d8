<?php

header_remove('X-Powered-By');
echo 'ok';
