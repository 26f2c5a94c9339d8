<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Commands;

/**
 * The files that worker mode adds to an application, and their templates.
 */
final class Files
{
    /** Paths relative to the application's folder. CodeIgniter 4.7 uses the same names. */
    private const TEMPLATES = [
        'public/frankenphp-worker.php' => 'worker.php.tpl',
        'Caddyfile' => 'Caddyfile.tpl',
    ];

    public function __construct(private readonly string $folder)
    {
    }

    public static function ofTheApplication(): self
    {
        return new self(ROOTPATH);
    }

    /**
     * @return list<string>
     */
    public function existing(): array
    {
        return array_values(array_filter($this->names(), fn (string $file): bool => is_file($this->folder . $file)));
    }

    /**
     * @return list<string> files that were changed
     */
    public function changed(): array
    {
        return array_values(array_filter(
            $this->existing(),
            fn (string $file): bool => file_get_contents($this->folder . $file) !== self::template($file),
        ));
    }

    /**
     * @return array<string, bool> whether each file could be written
     */
    public function write(): array
    {
        $written = [];
        foreach ($this->names() as $file) {
            $written[$file] = @file_put_contents($this->folder . $file, self::template($file)) !== false;
        }
        return $written;
    }

    public function remove(string $file): bool
    {
        return @unlink($this->folder . $file);
    }

    /**
     * @return list<string>
     */
    private function names(): array
    {
        return array_keys(self::TEMPLATES);
    }

    private static function template(string $file): string
    {
        return (string) file_get_contents(__DIR__ . '/Views/' . self::TEMPLATES[$file]);
    }
}
