<?php

declare(strict_types=1);

namespace App\Controllers;

use CodeIgniter\HTTP\DownloadResponse;
use CodeIgniter\HTTP\RedirectResponse;
use CodeIgniter\HTTP\ResponseInterface;
use RuntimeException;

/** Pages with which a test detects whether requests of one process affect each other. */
class Probe extends BaseController
{
    private static int $calls = 0;

    public function pid(): string
    {
        return getmypid() . ' ' . ++self::$calls;
    }

    public function isolate(string $mark): ResponseInterface
    {
        return $this->response->setHeader('X-Mark', $mark)->setJSON([
            'segment' => $mark,
            'get' => $this->request->getGet('mark'),
            'post' => $this->request->getPost('mark'),
            'cookie' => $this->request->getCookie('mark'),
            'header' => $this->request->getHeaderLine('X-Mark'),
            // CodeIgniter 4.3 does not have this service.
            'server' => service('superglobals')?->server('HTTP_X_MARK') ?? $this->request->getServer('HTTP_X_MARK'),
            'uri' => uri_string(),
            // Before 4.5 the name is in lower case.
            'method' => strtoupper($this->request->getMethod()),
        ]);
    }

    public function count(): string
    {
        $session = session();
        $session->set('count', (int) $session->get('count') + 1);
        return (string) $session->get('count');
    }

    public function flash(): RedirectResponse
    {
        return redirect()->to('probe/flashed')->with('message', 'kept for one request');
    }

    public function flashed(): string
    {
        return (string) session()->getFlashdata('message');
    }

    public function login(string $user): string
    {
        session()->set('user', $user);
        return $user;
    }

    public function whoami(): string
    {
        return session('user') ?? 'nobody';
    }

    /** The only page that is cached. */
    public function cached(): string
    {
        $this->cachePage(60);
        return bin2hex(random_bytes(8));
    }

    public function host(string $name): string
    {
        return $name;
    }

    public function stream(): ResponseInterface
    {
        while (ob_get_level() > 0) {
            ob_end_clean();
        }
        foreach (['first', 'second'] as $part) {
            echo "$part\n";
            flush();
        }
        return $this->response;
    }

    /** Waits until the test lets it continue. */
    public function gate(): string
    {
        $gate = (string) $this->request->getGet('gate');
        file_put_contents("$gate.reached", 'x');
        fgetc(fopen("$gate.open", 'r'));
        return 'open';
    }

    public function throw(): never
    {
        throw new RuntimeException('thrown on purpose');
    }

    public function exit(): never
    {
        echo 'said before';
        exit;
    }

    public function upload(): ResponseInterface
    {
        $file = $this->request->getFile('file');
        $valid = $file->isValid();
        $name = $file->getRandomName();
        $text = file_get_contents($file->getTempName());
        return $this->response->setJSON([
            'valid' => $valid,
            'text' => $text,
            'moved' => $file->move(WRITEPATH . 'uploads', $name),
            'there' => is_file(WRITEPATH . 'uploads/' . $name),
        ]);
    }

    public function download(): DownloadResponse
    {
        return $this->response->download('name.txt', str_repeat('download ', 10_000));
    }

    public function settings(): ResponseInterface
    {
        $seen = [ini_get('precision'), date_default_timezone_get(), setlocale(LC_NUMERIC, '0'), getenv('PROBE'), getcwd()];
        ini_set('precision', '3');
        date_default_timezone_set('Asia/Kolkata');
        setlocale(LC_NUMERIC, 'C.UTF-8', 'POSIX');
        putenv('PROBE=changed');
        chdir('/');
        return $this->response->setJSON($seen);
    }

    public function memory(): string
    {
        ini_set('memory_limit', (string) (memory_get_usage() + (4 << 20)));
        return str_repeat('x', 64 << 20);
    }
}
