<?php

// Declarations of the package php/stubs and of the running server, in one notation.

declare(strict_types=1);

$stubs = file_get_contents(__DIR__ . '/../../php/stubs/howdah.stub.php');
// The names exist already, so they are declared in a different namespace.
eval(strtr(substr($stubs, strlen('<?php')), ['namespace {' => 'namespace Stub {', 'namespace Howdah' => 'namespace Stub\Howdah']));

$plain = static fn (mixed $text): string => str_replace('Stub\\', '', (string) $text);
$signature = static fn (ReflectionFunctionAbstract $function): string => implode(', ', array_map(
    static fn (ReflectionParameter $parameter): string => trim($plain($parameter->getType())
        . ($parameter->isVariadic() ? ' ...' : ' ') . $parameter->getName()
        . ($parameter->isDefaultValueAvailable() ? ' = ' . var_export($parameter->getDefaultValue(), true) : '')),
    $function->getParameters(),
)) . ': ' . $plain($function->getReturnType());
$class = static function (ReflectionClass $class) use ($plain, $signature): array {
    $interfaces = $class->getInterfaceNames();
    sort($interfaces);
    $methods = [];
    foreach ($class->getMethods() as $method) {
        if ($plain($method->getDeclaringClass()->getName()) === $plain($class->getName())) {
            $modifiers = implode(' ', Reflection::getModifierNames($method->getModifiers()));
            $methods[$method->getName()] = $modifiers . ' ' . $signature($method);
        }
    }
    ksort($methods);
    return [
        'parent' => $class->getParentClass() === false ? null : $class->getParentClass()->getName(),
        'final' => $class->isFinal(), 'interfaces' => $interfaces, 'methods' => $methods,
    ];
};

$server = new ReflectionExtension('howdah');
$has = ['functions' => [], 'classes' => [], 'constants' => $server->getConstants()];
foreach ($server->getFunctions() as $function) {
    $has['functions'][$function->getName()] = $signature($function);
}
foreach ($server->getClasses() as $one) {
    $has['classes'][$one->getName()] = $class($one);
}
$declared = ['functions' => [], 'classes' => [], 'constants' => []];
foreach (get_defined_functions()['user'] as $name) {
    if (str_starts_with($name, 'stub\\')) {
        $function = new ReflectionFunction($name);
        $declared['functions'][$plain($function->getName())] = $signature($function);
    }
}
foreach (get_declared_classes() as $name) {
    if (str_starts_with($name, 'Stub\\')) {
        $declared['classes'][$plain($name)] = $class(new ReflectionClass($name));
    }
}
foreach (get_defined_constants(true)['user'] ?? [] as $name => $value) {
    if (str_starts_with(strtolower($name), 'stub\\')) {
        $declared['constants'][substr($name, strlen('Stub\\'))] = $value;
    }
}
header('Content-Type: application/json');
echo json_encode(['declared' => $declared, 'has' => $has], JSON_THROW_ON_ERROR);
