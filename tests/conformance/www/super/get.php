<?php

var_export($_GET);
