<?php

declare(strict_types=1);

// Differences that classes which exist before the request could cause, but must not.
define('GREETING', $_GET['greeting'] ?? 'hello');
spl_autoload_register(static function (string $name): void {
    $file = __DIR__ . '/src/' . strtr($name, '\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});

function called(callable $function): string
{
    try {
        return (string) $function();
    } catch (Throwable $error) {
        return get_class($error) . ': ' . $error->getMessage() . ' in line ' . $error->getLine();
    }
}

header('Content-Type: text/plain');
$item = new Shop\Item('lamp');
$class = new ReflectionClass($item);
echo json_encode([
    'greeting' => Shop\Item::GREETING,
    'constant' => Shop\Item::SIZES[Shop\Size::Large->value],
    'count' => [++Shop\Item::$made, $item->calls(), $item->calls(), Shop\Item::$made],
    'place' => [basename($item->file()), basename($item->folder()), $item->line()],
    'parents' => [class_parents($item), class_implements($item), class_uses($item)],
    'file' => basename((string) $class->getFileName()),
    'lines' => [$class->getStartLine(), $class->getEndLine()],
    'comment' => $class->getDocComment(),
    'attributes' => array_map(fn ($one) => [$one->getName(), $one->getArguments()], $class->getAttributes()),
    'properties' => array_map(fn ($one) => (string) $one->getType(), $class->getProperties()),
    'internal' => $class->isInternal(),
    'kind' => [$class->isFinal(), (new ReflectionEnum(Shop\Size::class))->isBacked()],
    'text' => (string) $item,
    'copy' => unserialize(serialize($item)) == $item,
    'sizes' => array_column(Shop\Size::cases(), 'name', 'value'),
    'from' => called(fn () => Shop\Size::from('none')),
    'strict' => called(fn () => $item->rename('7' . 1)),
    'types' => called(fn () => $item->times('seven')),
    'private' => called(fn () => $item->secret()),
    'abstract' => called(fn () => new Shop\Thing()),
    'missing' => [class_exists('Shop\Nothing'), called(fn () => new Shop\Nothing())],
    'readonly' => called(fn () => $item->name = 'other'),
    'static' => [Shop\Item::make('a')::class, Shop\Thing::class],
    'closure' => ($item->closure())(2),
    'anonymous' => str_contains(get_class($item->anonymous()), 'class@anonymous'),
    'generator' => iterator_to_array($item->letters()),
    'defaults' => $item->defaults(),
    'alias' => class_alias(Shop\Item::class, 'ShopItem') && new ShopItem('b') instanceof Shop\Item,
], JSON_PRETTY_PRINT | JSON_THROW_ON_ERROR), "\n";
