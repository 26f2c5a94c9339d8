<?php

error_log('a line for the log');
error_log('a line with level 4', 4);
echo 'logged';
