--TEST--
Coroutines: classes whose methods return one another's subclasses, loaded by several requests from different ends
--FILE--
<?php
const ROUNDS = 8;
for ($n = 0; $n < ROUNDS; $n++) {
    foreach ([
        "One$n" => "class One$n { public function next(): ?Two$n { return new Two$n(); } }",
        "Two$n" => "class Two$n extends One$n { public function next(): ?Three$n { return new Three$n(); } }",
        "Three$n" => "class Three$n extends Two$n { public function with(Four$n \$four): ?Five$n { return null; } }",
        "Four$n" => "class Four$n { public function of(): ?One$n { return null; } }",
        "Five$n" => "class Five$n extends Four$n { public function of(): ?Six$n { return new Six$n(); } }",
        "Six$n" => "final class Six$n extends Three$n { public function with(Four$n \$four): ?Seven$n { return null; } }",
        "Seven$n" => "final class Seven$n extends Five$n { }",
    ] as $name => $code) {
        file_put_contents(__DIR__ . "/$name.inc", "<?php\n$code\n");
    }
}
spl_autoload_register(static function (string $class): void {
    $n = (int) substr($class, -1);
    if ($n & 1) {
        usleep(($n & 4 ? crc32($class) % 3000 : 1000) + 100);
    }
    require __DIR__ . "/$class.inc";
    if ($n & 2) {
        usleep(($n & 4 ? crc32("$class-") % 3000 : 1000) + 100);
    }
});
while (frankenphp_handle_request(static function (): void {
    for ($n = 0; $n < ROUNDS; $n++) {
        foreach (explode(',', $_GET['order']) as $name) {
            $class = "$name$n";
            if (!new $class() instanceof $class) {
                echo 'no ', $class, ' ';
            }
        }
        $six = "Six$n";
        echo get_class((new $six())->next()), ' ', get_class((new ("Five$n")())->of()), "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING order=Two
push two
var QUERY_STRING order=Three
push three
var QUERY_STRING order=Six
push six
var QUERY_STRING order=Seven
push seven
var QUERY_STRING order=Five,Four
push five
var QUERY_STRING order=One,Seven
push one
await two
await three
await six
await seven
await five
await one
--EXPECT--
two: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7

three: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7

six: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7

seven: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7

five: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7

one: Three0 Six0
Three1 Six1
Three2 Six2
Three3 Six3
Three4 Six4
Three5 Six5
Three6 Six6
Three7 Six7
