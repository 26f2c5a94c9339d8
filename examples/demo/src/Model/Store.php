<?php

declare(strict_types=1);

namespace Caravan\Model;

use PDO;
use PDOStatement;
use RuntimeException;

/**
 * The database as the models use it: every value is bound, never written into the SQL.
 */
final class Store
{
    public function __construct(private readonly PDO $pdo)
    {
    }

    /**
     * @return list<array<mixed>>
     */
    public function rows(string $sql, int|string ...$values): array
    {
        return array_values(array_filter($this->query($sql, $values)->fetchAll(PDO::FETCH_ASSOC), is_array(...)));
    }

    /**
     * @return array<mixed>|null the first row, if there is one
     */
    public function row(string $sql, int|string ...$values): ?array
    {
        return $this->rows($sql, ...$values)[0] ?? null;
    }

    /**
     * The first column of the first row, a whole number.
     */
    public function number(string $sql, int|string ...$values): int
    {
        $number = array_values($this->row($sql, ...$values) ?? [])[0] ?? null;
        return is_int($number) ? $number : throw new RuntimeException("The query gave no number: $sql");
    }

    /**
     * Runs a statement that changes something.
     *
     * @return int the number of the row that it inserted, if it did
     */
    public function run(string $sql, int|string ...$values): int
    {
        $this->query($sql, $values);
        return (int) $this->pdo->lastInsertId();
    }

    /**
     * @param array<int|string> $values
     */
    private function query(string $sql, array $values): PDOStatement
    {
        // PDO throws when the database refuses the statement; false is for other error modes.
        $statement = $this->pdo->prepare($sql) ?: throw new RuntimeException("Cannot prepare: $sql");
        foreach (array_values($values) as $index => $value) {
            $statement->bindValue($index + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $statement->execute();
        return $statement;
    }
}
