<?php

declare(strict_types=1);

namespace App;

final class Catalogue
{
    private const ITEMS = ['Spade', 'Rake', 'Watering can', 'Gloves', 'Seed tray', 'Hose', 'Trowel', 'Shears'];

    /** @return list<array{name: string, price: float, stock: int}> */
    public function items(string $department): array
    {
        $items = [];
        foreach (range(1, 24) as $number) {
            $items[] = [
                'name' => self::ITEMS[$number % \count(self::ITEMS)]." no. $number, $department",
                'price' => 1.5 * $number + 0.49,
                'stock' => $number * 7 % 5,
            ];
        }

        return $items;
    }
}
