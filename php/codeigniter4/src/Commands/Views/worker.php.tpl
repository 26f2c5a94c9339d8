<?php

// Written by `php spark howdah:install`: CodeIgniter in worker mode. Under php-fpm public/index.php goes on as before.

define('FCPATH', __DIR__ . DIRECTORY_SEPARATOR);
chdir(FCPATH);

// Change these two lines if app/ or vendor/ is somewhere else.
require FCPATH . '../vendor/autoload.php';
require FCPATH . '../app/Config/Paths.php';

Howdah\CodeIgniter4\Worker::run(new Config\Paths());
