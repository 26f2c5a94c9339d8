<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Commands;

use CodeIgniter\CLI\BaseCommand;
use CodeIgniter\CLI\CLI;

/**
 * Removes the files that howdah:install has written, unless they were changed.
 */
final class Uninstall extends BaseCommand
{
    protected $group = 'Howdah';
    protected $name = 'howdah:uninstall';
    protected $description = 'Removes what howdah:install has written.';
    protected $usage = 'howdah:uninstall [--force]';
    protected $options = ['--force' => 'Remove files that were changed, too.'];

    /**
     * @param array<int|string, string|null> $params
     */
    public function run(array $params): int
    {
        $files = Files::ofTheApplication();
        $force = array_key_exists('force', $params) || CLI::getOption('force') !== null;
        $changed = $force ? [] : $files->changed();
        foreach (array_diff($files->existing(), $changed) as $file) {
            if (!$files->remove($file)) {
                CLI::error("$file could not be removed.");
                return EXIT_ERROR;
            }
            CLI::write("Removed: $file", 'green');
        }
        if ($changed !== []) {
            CLI::error('Kept, because changed since: ' . implode(', ', $changed) . '. Use --force to remove.');
            return EXIT_ERROR;
        }
        return EXIT_SUCCESS;
    }
}
