<?php

echo basename(getcwd()), ' ', include 'sub/part.php';
echo ' ', include './sub/part.php';
echo ' ', is_file('include.php') ? 'relative' : 'not relative';
