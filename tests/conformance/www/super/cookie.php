<?php

var_export($_COOKIE);
