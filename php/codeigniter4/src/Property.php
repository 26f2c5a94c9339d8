<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use ReflectionProperty;

/**
 * A property that the framework does not expose, and that some versions lack.
 */
final class Property
{
    private readonly ?ReflectionProperty $property;

    /**
     * @param class-string $class that declares the property
     */
    public function __construct(string $class, string $name)
    {
        $this->property = property_exists($class, $name) ? new ReflectionProperty($class, $name) : null;
    }

    /**
     * @param object|null $object null for a static property
     *
     * @return mixed null if the property does not exist or has no value
     */
    public function get(?object $object = null): mixed
    {
        if ($this->property === null || !$this->property->isInitialized($object)) {
            return null;
        }
        return $this->property->getValue($object);
    }

    public function set(mixed $value, ?object $object = null): void
    {
        if ($this->property !== null) {
            $this->property->setValue($this->property->isStatic() ? null : $object, $value);
        }
    }
}
