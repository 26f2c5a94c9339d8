<?php

// Extensions for files, archives, images, and what processes of a machine share.

declare(strict_types=1);

/** A separate file in the folder for temporary files. */
$temporary = static fn(string $name): string => tempnam(sys_get_temp_dir(), $name);

return [
    'apcu' => [
        'what' => 'store, fetch, `apcu_entry()` with a generator that waits',
        'run' => static function (int $n, Closure $wait): array {
            if (!apcu_enabled()) {
                return [$n, $n, 2 * $n];
            }
            apcu_store("key$n", $n);
            $wait();
            $entry = apcu_entry("entry$n", static function () use ($n, $wait): int {
                $wait();
                return 2 * $n;
            });
            return [$n, apcu_fetch("key$n"), $entry];
        },
    ],
    'bz2' => [
        'what' => 'compress, streams',
        'run' => static function (int $n, Closure $wait) use ($temporary): array {
            $data = bzcompress(str_repeat("n $n ", 1000));
            $wait();
            $file = $temporary('bz2');
            file_put_contents("compress.bzip2://$file", "file $n");
            $wait();
            $read = file_get_contents("compress.bzip2://$file");
            unlink($file);
            return [md5($data), strlen(bzdecompress($data)), $read];
        },
    ],
    'dba' => [
        'what' => 'a database in a file',
        'run' => static function (int $n, Closure $wait) use ($temporary): array {
            $file = $temporary('dba');
            unlink($file);
            $database = dba_open($file, 'n', 'flatfile');
            foreach (range(1, 3) as $step) {
                dba_insert("key$step", "$n $step", $database);
                $wait();
            }
            $found = [dba_fetch('key2', $database), dba_exists("key$n", $database)];
            dba_close($database);
            unlink($file);
            return $found;
        },
    ],
    'exif' => [
        'what' => 'type of an image, headers',
        'run' => static function (int $n, Closure $wait) use ($temporary): array {
            $file = $temporary('exif');
            file_put_contents($file, "GIF89a" . pack('vv', $n, $n) . "\0\0\0,\0\0\0\0");
            $wait();
            $type = exif_imagetype($file);
            $size = getimagesize($file);
            unlink($file);
            return [$type, $size[0] ?? null, exif_tagname(0x10f)];
        },
    ],
    'ffi' => [
        'what' => 'call a function of libc (in pools only if `ffi.enable` permits it)',
        'run' => static function (int $n, Closure $wait): array {
            $libc = FFI::cdef('int abs(int value);', 'libc.so.6');
            $wait();
            $memory = FFI::new('int[4]');
            $memory[1] = $n;
            $wait();
            return [$libc->abs(-$n), $memory[1]];
        },
    ],
    'fileinfo' => [
        'what' => 'types of data',
        'run' => static function (int $n, Closure $wait): array {
            $info = new finfo(FILEINFO_MIME_TYPE);
            $data = $n % 2 === 0 ? "GIF89a\1\0\1\0" : "%PDF-1.4\n";
            $wait();
            return [$info->buffer($data), (new finfo())->buffer($data)];
        },
    ],
    'gd' => [
        'what' => 'draw, scale, write PNG',
        'run' => static function (int $n, Closure $wait): array {
            $image = imagecreatetruecolor(40, 40);
            imagefilledellipse($image, 20, 20, $n * 2, 10, imagecolorallocate($image, $n, 200, 0));
            $wait();
            $small = imagescale($image, 20);
            ob_start();
            $wait();
            imagepng($small);
            return [md5(ob_get_clean()), imagecolorat($image, 20, 20)];
        },
    ],
    'geos' => [
        'what' => 'geometry from text, area, union',
        'run' => static function (int $n, Closure $wait): array {
            $shape = (new GEOSWKTReader())->read("POLYGON((0 0, $n 0, $n $n, 0 $n, 0 0))");
            $wait();
            return [$shape->area(), $shape->buffer(1)->area() > $shape->area(), $shape->typeName()];
        },
    ],
    'gmagick' => [
        'what' => 'draw, scale, write PNG',
        'run' => static function (int $n, Closure $wait): array {
            $image = new Gmagick();
            $image->newimage(30 + $n, 30, 'red', 'png');
            $wait();
            $image->scaleimage(10 + $n, 10);
            $wait();
            return [$image->getimagewidth(), $image->getimageheight(), strlen($image->getimageblob()) > 50];
        },
    ],
    'gnupg' => [
        'what' => 'keys of an empty keyring, with a program of GnuPG',
        'run' => static function (int $n, Closure $wait): array {
            $folder = sys_get_temp_dir() . '/gnupg' . bin2hex(random_bytes(6));
            mkdir($folder, 0700);
            $gnupg = new gnupg(['home_dir' => $folder]);
            $wait();
            $keys = $gnupg->keyinfo("visitor$n");
            $wait();
            $protocol = $gnupg->getprotocol();
            unset($gnupg);
            exec('rm -rf ' . escapeshellarg($folder));
            return [$keys, $protocol];
        },
    ],
    'horde_lz4' => [
        'what' => 'compress',
        'run' => static function (int $n, Closure $wait): array {
            $data = horde_lz4_compress(str_repeat("n $n ", 1000));
            $wait();
            return [md5($data), strlen(horde_lz4_uncompress($data))];
        },
    ],
    'imagick' => [
        'what' => 'draw, scale, write PNG',
        'run' => static function (int $n, Closure $wait): array {
            $image = new Imagick();
            $image->newImage(30 + $n, 30, new ImagickPixel('red'));
            $wait();
            $image->setImageFormat('png');
            $image->resizeImage(10 + $n, 10, Imagick::FILTER_TRIANGLE, 1);
            $wait();
            return [$image->getImageWidth(), $image->getImageHeight(),
                $image->getImagePixelColor(3, 3)->getColorAsString(), strlen($image->getImageBlob()) > 50];
        },
    ],
    'inotify' => [
        'what' => 'events of a file',
        'run' => static function (int $n, Closure $wait) use ($temporary): array {
            $file = $temporary('inotify');
            $queue = inotify_init();
            $watch = inotify_add_watch($queue, $file, IN_MODIFY | IN_DELETE_SELF);
            $wait();
            file_put_contents($file, "n $n");
            $first = inotify_read($queue)[0];
            $wait();
            unlink($file);
            return [$first['wd'] === $watch, $first['mask'] === IN_MODIFY];
        },
    ],
    'luasandbox' => [
        'what' => 'run Lua with a PHP function that waits',
        'run' => static function (int $n, Closure $wait): array {
            $sandbox = new LuaSandbox();
            $sandbox->setMemoryLimit(10 << 20);
            $sandbox->registerLibrary('php', ['wait' => static function (int $value) use ($wait): array {
                $wait();
                return [$value * 2];
            }]);
            $function = $sandbox->loadString("local a = ...; return php.wait(a) + 1");
            $wait();
            return $function->call($n);
        },
    ],
    'maxminddb' => [
        'what' => 'the error of a file that is not a database',
        'run' => static function (int $n, Closure $wait) use ($temporary): array {
            $file = $temporary('mmdb');
            file_put_contents($file, "not a database $n");
            try {
                $wait();
                new MaxMind\Db\Reader($file);
                return ['opened'];
            } catch (Throwable $error) {
                return [$error::class, str_replace($file, 'FILE', $error->getMessage())];
            } finally {
                unlink($file);
            }
        },
    ],
    'mcrypt' => [
        'what' => 'encrypt in steps',
        'run' => static function (int $n, Closure $wait): array {
            $module = mcrypt_module_open('rijndael-128', '', 'cbc', '');
            mcrypt_generic_init($module, str_repeat(chr($n), 16), str_repeat('i', 16));
            $found = [];
            foreach (range(1, 3) as $step) {
                $found[] = bin2hex(mcrypt_generic($module, str_pad("$n $step", 16)));
                $wait();
            }
            mcrypt_generic_deinit($module);
            return $found;
        },
    ],
    'opcache' => [
        'what' => 'compile, invalidate',
        'run' => static function (int $n, Closure $wait): array {
            $file = sys_get_temp_dir() . '/opcache-' . bin2hex(random_bytes(6)) . '.php';
            file_put_contents($file, "<?php return $n;");
            $wait();
            $first = include $file;
            file_put_contents($file, '<?php return ' . (10 * $n) . ';');
            opcache_invalidate($file, true);
            $wait();
            $second = include $file;
            unlink($file);
            return [$first, $second];
        },
    ],
    'pcov' => [
        'what' => 'coverage of the lines that a request runs',
        'run' => static function (int $n, Closure $wait): array {
            pcov\clear();
            pcov\start();
            $wait();
            pcov\stop();
            return [is_array(pcov\collect(pcov\all)), $n];
        },
    ],
    'phar' => [
        'what' => 'an archive: write, read by its address',
        'run' => static function (int $n, Closure $wait): array {
            $file = sys_get_temp_dir() . '/' . bin2hex(random_bytes(6)) . '.tar';
            $archive = new PharData($file);
            $archive->addFromString('a.txt', "text $n");
            $wait();
            $read = file_get_contents("phar://$file/a.txt");
            $wait();
            $count = count($archive);
            unset($archive);
            PharData::unlinkArchive($file);
            return [$read, $count];
        },
    ],
    'posix' => [
        'what' => 'errors of a request, users, signals',
        'run' => static function (int $n, Closure $wait): array {
            $n % 2 === 0 ? posix_kill(0x3fffffff, 0) : posix_kill(posix_getpid(), 999);
            $wait();
            return [posix_get_last_error(), posix_getpwuid(0)['name'], posix_strerror($n)];
        },
    ],
    'ps' => [
        'what' => 'write PostScript in steps',
        'run' => static function (int $n, Closure $wait): array {
            $file = sys_get_temp_dir() . '/' . bin2hex(random_bytes(6)) . '.ps';
            $page = ps_new();
            ps_open_file($page, $file);
            ps_begin_page($page, 100 + $n, 100);
            $wait();
            ps_moveto($page, $n, $n);
            ps_lineto($page, 50, 50);
            ps_stroke($page);
            $wait();
            ps_end_page($page);
            ps_close($page);
            $text = (string) file_get_contents($file);
            unlink($file);
            return [substr_count($text, "$n.00 $n.00"), str_contains($text, '%!PS')];
        },
    ],
    'readline' => [
        // The history is the process's, so requests of a coroutine pool get none.
        'what' => 'its state; the history is refused with `concurrency`',
        'run' => static function (int $n, Closure $wait): array {
            $before = array_keys(readline_info());
            $wait();
            return [count($before) > 0, array_keys(readline_info()) === $before];
        },
    ],
    'rrd' => [
        'what' => 'create, update and read a round-robin database',
        'run' => static function (int $n, Closure $wait): array {
            $file = sys_get_temp_dir() . '/' . bin2hex(random_bytes(6)) . '.rrd';
            rrd_create($file, ['--start', '1700000000', '--step', '60', 'DS:n:GAUGE:120:U:U', 'RRA:LAST:0.5:1:10']);
            foreach ([1700000060, 1700000120, 1700000180] as $time) {
                rrd_update($file, ["$time:$n"]);
                $wait();
            }
            $data = rrd_fetch($file, ['LAST', '--start', '1700000060', '--end', '1700000120']);
            $wait();
            rrd_update($file, ["1:$n"]);
            $error = str_replace($file, 'FILE', (string) rrd_error());
            unlink($file);
            return [array_values($data['data']['n']), $error];
        },
    ],
    'shmop' => [
        'what' => 'shared memory',
        'run' => static function (int $n, Closure $wait): array {
            $memory = shmop_open(random_int(1 << 20, 1 << 30), 'n', 0600, 100);
            shmop_write($memory, "text $n", 0);
            $wait();
            $read = rtrim(shmop_read($memory, 0, 100), "\0");
            shmop_delete($memory);
            return [$read];
        },
    ],
    'sysvmsg' => [
        'what' => 'a queue whose receiver waits',
        'run' => static function (int $n, Closure $wait): array {
            $queue = msg_get_queue(random_int(1 << 20, 1 << 30));
            msg_send($queue, 1, ['n' => $n]);
            $wait();
            msg_receive($queue, 0, $type, 1000, $message);
            msg_remove_queue($queue);
            return [$type, $message];
        },
    ],
    'sysvsem' => [
        'what' => 'a semaphore that all requests want',
        'run' => static function (int $n, Closure $wait): array {
            $semaphore = sem_get(0x686f7764);
            $got = sem_acquire($semaphore);
            $wait();
            return [$got, sem_release($semaphore), $n];
        },
    ],
    'sysvshm' => [
        'what' => 'variables in shared memory',
        'run' => static function (int $n, Closure $wait): array {
            $memory = shm_attach(random_int(1 << 20, 1 << 30), 2000);
            shm_put_var($memory, $n, ['n' => $n]);
            $wait();
            $read = shm_get_var($memory, $n);
            shm_remove($memory);
            return [$read];
        },
    ],
    'tideways' => [
        'what' => 'profile of a request',
        'run' => static function (int $n, Closure $wait): array {
            tideways_xhprof_enable();
            strrev("n$n");
            $profile = tideways_xhprof_disable();
            $wait();
            return [isset($profile['main()'])];
        },
    ],
    'excimer' => [
        'what' => 'a timer',
        'run' => static function (int $n, Closure $wait): array {
            $timer = new ExcimerTimer();
            $timer->setInterval(100);
            $timer->start();
            $wait();
            $left = $timer->getTime();
            $timer->stop();
            return [$left > 0, $n];
        },
    ],
    'uopz' => [
        'what' => 'a replaced return value',
        'run' => static function (int $n, Closure $wait): array {
            uopz_set_return('gethostname', "host$n");
            $wait();
            $name = gethostname();
            uopz_unset_return('gethostname');
            return [$name];
        },
    ],
    'uploadprogress' => [
        'what' => 'an upload that is not there',
        'run' => static function (int $n, Closure $wait): array {
            $wait();
            return [uploadprogress_get_info("upload$n")];
        },
    ],
    'uuid' => [
        'what' => 'make, parse, name-based identifiers',
        'run' => static function (int $n, Closure $wait): array {
            $made = uuid_create();
            $wait();
            return [uuid_is_valid($made), uuid_generate_sha1('6ba7b810-9dad-11d1-80b4-00c04fd430c8', "n$n")];
        },
    ],
    'wmerrors' => [
        'what' => 'settings',
        'run' => static function (int $n, Closure $wait): array {
            $wait();
            return [ini_get('wmerrors.enabled'), $n];
        },
    ],
    'xdebug' => [
        'what' => 'information, a stack',
        'run' => static function (int $n, Closure $wait): array {
            $wait();
            return [is_array(xdebug_info('mode')), $n];
        },
    ],
    'yac' => [
        'what' => 'store and fetch',
        'run' => static function (int $n, Closure $wait): array {
            if (PHP_SAPI === 'cli') {
                return [$n];
            }
            $cache = new Yac();
            $cache->set("key$n", $n);
            $wait();
            return [$cache->get("key$n")];
        },
    ],
    'zip' => [
        'what' => 'write and read an archive',
        'run' => static function (int $n, Closure $wait): array {
            $file = sys_get_temp_dir() . '/' . bin2hex(random_bytes(6)) . '.zip';
            $archive = new ZipArchive();
            $archive->open($file, ZipArchive::CREATE);
            $archive->addFromString('a.txt', "text $n");
            $wait();
            $archive->close();
            $archive->open($file);
            $wait();
            $read = [$archive->getFromName('a.txt'), $archive->count(), file_get_contents("zip://$file#a.txt")];
            $archive->close();
            unlink($file);
            return $read;
        },
    ],
    'zstd' => [
        'what' => 'compress',
        'run' => static function (int $n, Closure $wait): array {
            $data = zstd_compress(str_repeat("n $n ", 1000));
            $wait();
            return [md5($data), strlen(zstd_uncompress($data))];
        },
    ],
];
