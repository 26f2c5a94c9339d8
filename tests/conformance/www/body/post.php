<?php

var_export($_POST);
echo "\n", strlen(file_get_contents('php://input'));
