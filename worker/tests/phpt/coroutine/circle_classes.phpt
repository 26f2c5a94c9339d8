--TEST--
Coroutines: classes that need each other, loaded by two requests, are an error and not a hang
--INI--
opcache.enable=0
--FILE--
<?php
spl_autoload_register(function (string $class): void {
    usleep(5000); // a database tells where it is, say
    require __DIR__ . '/' . strtolower($class) . '.inc';
});

while (frankenphp_handle_request(function (): void {
    try {
        new $_GET['new']();
    } catch (Error $error) {
        echo $error->getMessage(), ' in ', basename($error->getFile());
    }
    echo "\n";
})) {
}
--FILE egg.inc--
<?php
class Egg extends Hen
{
}
--FILE hen.inc--
<?php
class Hen extends Egg
{
}
--FILE one.inc--
<?php
class One implements Two
{
}
--FILE two.inc--
<?php
interface Two extends Three
{
}
--FILE three.inc--
<?php
interface Three extends One
{
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING new=Egg
push egg
var QUERY_STRING new=Hen
push hen
await egg
await hen
var QUERY_STRING new=One
push one
var QUERY_STRING new=Two
push two
var QUERY_STRING new=Three
push three
await one
await two
await three
var QUERY_STRING new=Egg
run
--EXPECT--
egg: Class "Egg" not found in hen.inc

hen: Class "Egg" not found in hen.inc

one: Interface "One" not found in three.inc

two: Interface "One" not found in three.inc

three: Interface "One" not found in three.inc

Class "Egg" not found in hen.inc
