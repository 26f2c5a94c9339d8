<?php

// One variable, named by the query.
var_export($_SERVER[$_GET['name']] ?? null);
