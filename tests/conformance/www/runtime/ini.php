<?php

foreach (['display_errors', 'html_errors', 'implicit_flush', 'max_execution_time', 'max_input_time', 'memory_limit', 'output_buffering', 'post_max_size', 'register_argc_argv', 'upload_max_filesize', 'max_file_uploads', 'max_input_vars', 'variables_order', 'request_order', 'default_charset', 'date.timezone', 'session.use_strict_mode', 'user_ini.filename', 'short_open_tag'] as $name) {
    echo $name, ' = ', var_export(ini_get($name), true), "\n";
}
