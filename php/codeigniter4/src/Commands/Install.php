<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Commands;

use CodeIgniter\CLI\BaseCommand;
use CodeIgniter\CLI\CLI;

/**
 * Writes the worker script and a Caddyfile. `public/index.php` and all files that php-fpm serves
 * are unchanged.
 */
final class Install extends BaseCommand
{
    protected $group = 'Howdah';
    protected $name = 'howdah:install';
    protected $description = 'Writes the worker script and a Caddyfile for Howdah.';
    protected $usage = 'howdah:install [--force]';
    protected $options = ['--force' => 'Overwrite existing files.'];

    /**
     * @param array<int|string, string|null> $params
     */
    public function run(array $params): int
    {
        $files = Files::ofTheApplication();
        $force = array_key_exists('force', $params) || CLI::getOption('force') !== null;
        $existing = $files->existing();
        if ($existing !== [] && !$force) {
            CLI::error('Nothing was written, because there is already ' . implode(' and ', $existing)
                . '. Use --force to overwrite.');
            return EXIT_ERROR;
        }
        foreach ($files->write() as $file => $written) {
            if (!$written) {
                CLI::error("$file could not be written.");
                return EXIT_ERROR;
            }
            CLI::write("Written: $file", 'green');
        }
        CLI::write('Next: howdah run   (http://localhost:8080)');
        return EXIT_SUCCESS;
    }
}
