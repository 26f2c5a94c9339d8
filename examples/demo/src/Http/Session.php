<?php

declare(strict_types=1);

namespace Caravan\Http;

/**
 * The PHP session, open for as short as possible: it is locked only while something is written, so that
 * a slow page never makes the other pages of the same visitor wait. A visitor who needs none gets none.
 */
final class Session
{
    private const COOKIE = 'caravan';

    /** @var array<mixed>|null */
    private ?array $data = null;

    public function __construct(private readonly Request $request, private readonly string $directory)
    {
    }

    public function get(string $key): mixed
    {
        if ($this->data === null) {
            $this->data = [];
            if ($this->request->cookie(self::COOKIE) !== '') {
                $this->start(true);
                $this->data = $_SESSION;
            }
        }
        return $this->data[$key] ?? null;
    }

    /**
     * Stores a value; null removes it.
     */
    public function set(string $key, mixed $value): void
    {
        $this->start(false);
        if ($value === null) {
            unset($_SESSION[$key]);
        } else {
            $_SESSION[$key] = $value;
        }
        $this->data = $_SESSION;
        session_write_close();
    }

    /**
     * Starts again under a new id, so that an id known before a login is worth nothing after it.
     *
     * @param array<string, mixed> $data
     */
    public function renew(array $data): void
    {
        $this->start(false);
        session_regenerate_id(true);
        $_SESSION = $data;
        $this->data = $data;
        session_write_close();
    }

    /**
     * The secret that every form of this visitor carries.
     */
    public function csrfToken(): string
    {
        $token = $this->get('csrf');
        if (!is_string($token)) {
            $token = bin2hex(random_bytes(32));
            $this->set('csrf', $token);
        }
        return $token;
    }

    /**
     * @throws HttpError when the form does not carry the secret of this session
     */
    public function checkCsrf(): void
    {
        if ($this->request->formWasTooLarge()) {
            throw new HttpError(413, 'Too much luggage', 'The form was larger than ' . (string) ini_get('post_max_size')
                . ', the limit of this server. Go back and choose a smaller photo.');
        }
        $token = $this->get('csrf');
        if (!is_string($token) || !hash_equals($token, $this->request->rawField('csrf'))) {
            throw new HttpError(403, 'The form has expired', 'Go back, reload the page and send the form again.');
        }
    }

    /**
     * A message for the next page that this visitor sees.
     */
    public function flash(string $message): void
    {
        $this->set('flash', $message);
    }

    public function takeFlash(): ?string
    {
        $message = $this->get('flash');
        if (!is_string($message)) {
            return null;
        }
        $this->set('flash', null);
        return $message;
    }

    private function start(bool $readOnly): void
    {
        session_start([
            'name' => self::COOKIE,
            'save_handler' => 'files',
            'save_path' => $this->directory,
            'cookie_httponly' => true,
            'cookie_samesite' => 'Lax',
            'cookie_secure' => $this->request->isHttps(),
            'use_strict_mode' => true,
            'use_only_cookies' => true,
            // The application sends its own Cache-Control.
            'cache_limiter' => '',
            'gc_probability' => 1,
            'gc_divisor' => 100,
            'read_and_close' => $readOnly,
        ]);
    }
}
