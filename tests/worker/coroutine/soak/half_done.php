<?php

// Incomplete work of PHP whose owner waits: classes that load others while they are linked, constants, cases and
// defaults that load others while they are evaluated, files that are being included.

declare(strict_types=1);

return static fn (object $shared, string $dir): array => [
    'autoload' => static function (string $id): void {
        $class = 'Soak' . crc32($id) % CLASSES;
        need((new $class())->name() === $class, 'another class');
    },
    'link' => static function (string $id): void {
        $n = crc32($id) % CLASSES;
        $class = "Child$n"; // loads its parent while it is linked
        need((new $class())->name() === "Parent$n", 'another parent');
    },
    'trait' => static function (string $id): void {
        $n = crc32($id) % CLASSES;
        $class = "Uses$n"; // loads its trait, its interface, and the interface of that
        $object = new $class();
        need($object->name() === "Uses$n", 'another trait');
        need($object instanceof ("Face$n") && $object instanceof ("Base$n"), 'another interface');
    },
    'constant' => static function (string $id): void {
        $n = crc32($id) % CLASSES;
        need(constant("Constant$n::NAME") === "Named$n", 'another constant');
    },
    'enum' => static function (string $id): void {
        $n = crc32($id) % CLASSES;
        $enum = "Enum$n";
        need($enum::from("Named$n") === $enum::A && $enum::B === $enum::A, 'another case');
        need(count($enum::cases()) === 1 && $enum::tryFrom('none') === null, 'other cases');
    },
    'default' => static function (string $id): void {
        $n = crc32($id) % CLASSES;
        $class = "Default$n";
        need((new $class())->name === "Named$n" && $class::$static === "Named$n", 'another default');
    },
    'lazy' => static function (string $id) use ($shared): void {
        if (PHP_VERSION_ID < 80400) {
            return;
        }
        $object = $shared->get('lazy' . crc32($id) % 500, static function (): object {
            return (new ReflectionClass(Filled::class))->newLazyGhost(static function (Filled $object): void {
                usleep(500);
                $object->name = 'filled';
                usleep(500);
                $object->done = true;
            });
        });
        need($object->name === 'filled' && $object->done, 'half an object');
    },
    'include' => static function (string $id) use ($dir): void {
        $n = crc32($id) % 4;
        include_once "$dir/late$n.php";
        need(function_exists("late$n"), 'another one includes it');
    },
    'compile' => static function (string $id) use ($dir): void {
        usleep(2000); // others are on their way when the first one compiles it
        need((require "$dir/lazy.php") === $id, 'another superglobal');
    },
];

final class Filled
{
    public string $name = '';
    public bool $done = false;
}
