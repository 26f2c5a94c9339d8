<?php

declare(strict_types=1);

namespace Caravan\Model;

use Caravan\Http\Upload;
use Caravan\Typed;

/**
 * Uploaded photos: the facts in the database, the bytes outside the document root under a random name.
 */
final class Photos
{
    public const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

    private const BYTES_MAX = 5 * 1024 * 1024;

    /** The demo's password is public, so uploads must not fill the disk. */
    private const COUNT_MAX = 200;

    private const SIDE_MAX = 10_000;

    public function __construct(private readonly Store $store, private readonly string $directory)
    {
    }

    /**
     * The largest photo that this server takes, in bytes.
     */
    public static function bytesMax(): int
    {
        $limit = ini_parse_quantity((string) ini_get('upload_max_filesize'));
        return $limit > 0 ? min(self::BYTES_MAX, $limit) : self::BYTES_MAX;
    }

    /**
     * Returns the error of an upload; null when it may be stored.
     */
    public function problem(Upload $upload): ?string
    {
        $limit = sprintf('%.1f MB', self::bytesMax() / 1024 / 1024);
        if (in_array($upload->error, [UPLOAD_ERR_INI_SIZE, UPLOAD_ERR_FORM_SIZE], true)) {
            return "The photo is too large. Choose one of at most $limit.";
        }
        if ($upload->error !== UPLOAD_ERR_OK || !is_uploaded_file($upload->temporaryFile)) {
            return "The photo did not arrive whole (error $upload->error). Send it again.";
        }
        if ($upload->bytes > self::bytesMax()) {
            return "The photo is too large. Choose one of at most $limit.";
        }
        $size = self::measure($upload->temporaryFile);
        if ($size === null) {
            return 'This is not a photo that browsers show. Choose a JPEG, PNG, GIF or WebP file.';
        }
        if (max($size['width'], $size['height']) > self::SIDE_MAX) {
            return 'The photo has too many pixels. Choose one of at most ' . self::SIDE_MAX . ' a side.';
        }
        if ($this->store->number('SELECT COUNT(*) FROM photos') >= self::COUNT_MAX) {
            return 'The album of this demo is full. Delete its data folder to start again.';
        }
        return null;
    }

    /**
     * Stores an upload that has no problem.
     *
     * @return bool false when the disk did not take it
     */
    public function store(Upload $upload, int $entryId): bool
    {
        $size = self::measure($upload->temporaryFile);
        $id = bin2hex(random_bytes(16));
        if ($size === null || !move_uploaded_file($upload->temporaryFile, "$this->directory/$id")) {
            return false;
        }
        $this->store->run(
            'INSERT INTO photos (id, entry_id, type, bytes, width, height, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
            $id,
            $entryId,
            $size['type'],
            $upload->bytes,
            $size['width'],
            $size['height'],
            time(),
        );
        return true;
    }

    /**
     * @return array{file: string, type: string, bytes: int}|null
     */
    public function find(string $id): ?array
    {
        $row = $this->store->row('SELECT id, type, bytes FROM photos WHERE id = ?', $id);
        if ($row === null) {
            return null;
        }
        return [
            // The name comes from the database, never from the requested address.
            'file' => $this->directory . '/' . Typed::string($row, 'id'),
            'type' => Typed::string($row, 'type'),
            'bytes' => Typed::int($row, 'bytes'),
        ];
    }

    /**
     * @return list<array{id: string, width: int, height: int}> oldest first
     */
    public function ofEntry(int $entryId): array
    {
        return array_map(static fn (array $row): array => [
            'id' => Typed::string($row, 'id'),
            'width' => Typed::int($row, 'width'),
            'height' => Typed::int($row, 'height'),
        ], $this->store->rows(
            'SELECT id, width, height FROM photos WHERE entry_id = ? ORDER BY created_at, id',
            $entryId,
        ));
    }

    /**
     * The type by the content of the file; the browser's claim is ignored.
     *
     * @return array{type: string, width: int, height: int}|null
     */
    private static function measure(string $file): ?array
    {
        $size = @getimagesize($file);
        if ($size === false || !in_array($size['mime'], self::TYPES, true) || $size[0] < 1 || $size[1] < 1) {
            return null;
        }
        return ['type' => $size['mime'], 'width' => $size[0], 'height' => $size[1]];
    }
}
