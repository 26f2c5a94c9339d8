<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\HttpError;
use Caravan\Http\Response;
use Caravan\Model\Landscape;
use Caravan\Model\Photos;
use RuntimeException;

/**
 * Pictures that a script serves: uploaded photos from outside the document root, and painted covers.
 */
final class ImagePages
{
    public function __construct(private readonly App $app)
    {
    }

    public function photo(string $id): Response
    {
        $photo = (new Photos($this->app->store(), $this->app->directory()->photos()))->find($id);
        if ($photo === null || !is_file($photo['file'])) {
            throw HttpError::notFound();
        }
        $body = static function () use ($photo): void {
            if (readfile($photo['file']) !== $photo['bytes']) {
                throw new RuntimeException("The photo {$photo['file']} has changed on disk.");
            }
        };
        // A photo is never changed under its name, so browsers may cache it for ever.
        $response = Response::cacheable(
            $this->app->request,
            $photo['type'],
            $id,
            'public, max-age=31536000, immutable',
            $body,
        );
        return $response->status === 304 ? $response : $response
            ->with('Content-Length', (string) $photo['bytes'])
            ->with('Content-Disposition', 'inline');
    }

    public function cover(int $number): Response
    {
        $svg = Landscape::svg($number);
        return Response::cacheable(
            $this->app->request,
            'image/svg+xml',
            hash('xxh128', $svg),
            'public, max-age=86400',
            $svg,
        );
    }
}
