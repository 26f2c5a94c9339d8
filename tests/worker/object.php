<?php

// An object of the boot, the same one in all requests.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$object = new stdClass();
$object->id = spl_object_id($object);
$object->uses = 0;

return static function () use ($object): void {
    $object->uses++;
    echo json_encode(['same' => spl_object_id($object) === $object->id, 'uses' => $object->uses]);
};
