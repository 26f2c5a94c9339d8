<?php

ini_set('display_errors', 0);
undefined_function();
