<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Tests;

use CodeIgniter\Config\BaseService;
use Howdah\CodeIgniter4\Property;
use PHPUnit\Framework\TestCase;

final class PropertyTest extends TestCase
{
    private static ?string $ofTheClass = null;

    private ?string $ofAnObject = 'first';

    private string $withoutValue;

    public function testAPropertyOfAnObjectIsReadAndWritten(): void
    {
        $property = new Property(self::class, 'ofAnObject');
        self::assertSame('first', $property->get($this));
        $property->set('second', $this);
        self::assertSame('second', $this->ofAnObject);
    }

    public function testAStaticPropertyNeedsNoObject(): void
    {
        $property = new Property(self::class, 'ofTheClass');
        $property->set('set');
        self::assertSame('set', self::$ofTheClass);
        $property->set('again', $this);
        self::assertSame('again', $property->get());
    }

    public function testAMissingPropertyIsNull(): void
    {
        $property = new Property(BaseService::class, 'ofANewerVersion');
        $property->set('ignored');
        self::assertNull($property->get());
    }

    public function testAPropertyWithoutAValueIsNull(): void
    {
        $property = new Property(self::class, 'withoutValue');
        self::assertNull($property->get($this));
        $property->set('value', $this);
        self::assertSame('value', $this->withoutValue);
    }
}
