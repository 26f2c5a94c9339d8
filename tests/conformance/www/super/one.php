<?php

// Prints one variable, which the query names.
var_export($_SERVER[$_GET['name']] ?? null);
