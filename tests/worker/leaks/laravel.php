<?php

require __DIR__ . '/laravel.inc';
