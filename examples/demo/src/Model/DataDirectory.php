<?php

declare(strict_types=1);

namespace Caravan\Model;

use Caravan\Http\Request;
use RuntimeException;

/**
 * Where the demo keeps its database, photos and sessions: DEMO_DATA_DIR, or a folder of the user that PHP
 * runs as below the system's folder for temporary files.
 */
final class DataDirectory
{
    private function __construct(public readonly string $path)
    {
    }

    /**
     * @throws RuntimeException when the folder cannot be made or belongs to somebody else
     */
    public static function open(Request $request): self
    {
        // A server variable (fastcgi_param, env) can be set per site; php-fpm clears the environment.
        $path = $request->server('DEMO_DATA_DIR') ?: (string) getenv('DEMO_DATA_DIR');
        $shared = $path === '';
        if ($shared) {
            $path = rtrim(sys_get_temp_dir(), '/') . '/howdah-demo-' . self::user();
        }
        foreach ([$path, "$path/photos", "$path/sessions"] as $directory) {
            // Another request may make it between the check and mkdir(): hence the second check.
            if (!is_dir($directory) && !@mkdir($directory, 0700, true) && !is_dir($directory)) {
                throw new RuntimeException("Cannot make the folder $directory. Set DEMO_DATA_DIR to a writable one.");
            }
        }
        // Anybody may have made that folder first in a place where everybody may write.
        if ($shared && (is_link($path) || fileowner($path) !== self::user())) {
            throw new RuntimeException("The folder $path belongs to another user. Set DEMO_DATA_DIR to your own.");
        }
        return new self($path);
    }

    public function database(): string
    {
        return $this->path . '/caravan.db';
    }

    public function lock(): string
    {
        return $this->path . '/caravan.lock';
    }

    public function photos(): string
    {
        return $this->path . '/photos';
    }

    public function sessions(): string
    {
        return $this->path . '/sessions';
    }

    private static function user(): int
    {
        return function_exists('posix_geteuid') ? posix_geteuid() : (int) getmyuid();
    }
}
