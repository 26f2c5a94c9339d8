<?php

echo 'output first';
flush();
var_export(session_start());
