<?php

// What OPcache and the JIT cost and save on this machine: nanoseconds of a computation and of loading many files, as
// one JSON object. The code is in files of its own, since OPcache keeps no script of standard input.

declare(strict_types=1);

const FILES = 40;
const CLOSURES = 60;
const ROUNDS = 5;

const COMPUTATION = <<<'CODE'
    <?php
    return static function (): int {
        $inside = 0;
        for ($y = 0; $y < 60; $y++) {
            for ($x = 0; $x < 60; $x++) {
                $re = $im = 0.0;
                for ($step = 0; $step < 60 && $re * $re + $im * $im < 4.0; $step++) {
                    [$re, $im] = [$re * $re - $im * $im + $x / 30 - 1.5, 2 * $re * $im + $y / 30 - 1.0];
                }
                $inside += $step;
            }
        }
        return $inside;
    };
    CODE;

/** A file as large as a class of a framework. Closures, since a class cannot be loaded twice. */
function source(int $number): string
{
    $closures = '';
    for ($index = 0; $index < CLOSURES; $index++) {
        $closures .= "    static function (array \$values = [], ?string \$name = null): array {\n"
            . "        if (\$name === 'a$number') {\n            \$values[] = count(\$values);\n        }\n"
            . "        return array_map(fn (\$value) => [\$value, \$name, $index], \$values);\n    },\n";
    }
    return "<?php\nreturn [\n$closures];\n";
}

/** The shortest time of several rounds; what else the machine does makes others longer. */
function shortest(callable $work): int
{
    $times = [];
    for ($round = 0; $round < ROUNDS; $round++) {
        $start = hrtime(true);
        $work();
        $times[] = hrtime(true) - $start;
    }
    return min($times);
}

$folder = sys_get_temp_dir() . '/howdah-doctor-' . bin2hex(random_bytes(8));
mkdir($folder, 0700) || exit(1);
try {
    $files = [];
    for ($number = 0; $number < FILES; $number++) {
        $files[] = $file = "$folder/$number.php";
        file_put_contents($file, source($number));
    }
    $status = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    $opcache = (bool) ($status['opcache_enabled'] ?? false);
    $load = shortest(static function () use ($files): void {
        foreach ($files as $file) {
            require $file;
        }
    });
    $files[] = $computation = "$folder/computation.php";
    file_put_contents($computation, COMPUTATION);
    $compute = shortest(require $computation);
} finally {
    array_map('unlink', $files);
    rmdir($folder);
}
echo json_encode([
    'compute' => $compute,
    'load' => $load,
    'opcache' => $opcache,
    'jit' => (bool) ($status['jit']['on'] ?? false),
], JSON_THROW_ON_ERROR);
