<?php

echo implode(' ', array_keys(array_diff_key($GLOBALS, ['_SERVER' => 1, '_REQUEST' => 1])));
