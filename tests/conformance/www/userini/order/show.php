<?php

var_export($_REQUEST);
echo count($_SERVER) > 0 ? ' server' : ' no server';
