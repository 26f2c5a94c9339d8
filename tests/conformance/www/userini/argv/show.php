<?php

var_export([$_SERVER['argv'] ?? null, $_SERVER['argc'] ?? null, isset($argv), ini_get('register_argc_argv')]);
