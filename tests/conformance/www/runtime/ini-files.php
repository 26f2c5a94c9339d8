<?php

echo basename(php_ini_loaded_file()), ' ', count(explode(',', php_ini_scanned_files())) > 10 ? 'scanned' : 'not scanned';
