<?php

return basename(__DIR__) . '/' . basename(__FILE__) . ' from ' . basename(getcwd());
