<?php

declare(strict_types=1);

namespace Caravan;

use Caravan\Http\Response;
use Throwable;

/**
 * Fills the templates. A template sees the values that it is given, `$app`, and nothing else.
 */
final class View
{
    public function __construct(private readonly App $app)
    {
    }

    /**
     * A whole page inside the layout.
     *
     * @param array<string, mixed> $values
     */
    public function page(string $template, string $title, array $values = [], int $status = 200): Response
    {
        $content = $this->render($template, $values);
        return Response::html($this->head($title) . $content . $this->foot(), $status);
    }

    /**
     * The layout up to the content of the page, for those that send it piece by piece.
     */
    public function head(string $title): string
    {
        return $this->render('head', ['title' => $title, 'user' => $this->app->user(), 'flash' => $this->flash()]);
    }

    public function foot(): string
    {
        return $this->render('foot', []);
    }

    /**
     * @param array<string, mixed> $values
     */
    public function render(string $template, array $values): string
    {
        $level = ob_get_level();
        ob_start();
        try {
            self::fill($this->app, dirname(__DIR__) . "/templates/$template.php", $values);
            return (string) ob_get_clean();
        } catch (Throwable $error) {
            while (ob_get_level() > $level) {
                ob_end_clean();
            }
            throw $error;
        }
    }

    /**
     * A separate scope for the template.
     *
     * @param array<string, mixed> $values
     */
    private static function fill(App $app, string $file, array $values): void
    {
        extract($values, EXTR_SKIP);
        require $file;
    }

    private function flash(): ?string
    {
        return $this->app->hasSessions() ? $this->app->session()->takeFlash() : null;
    }
}
