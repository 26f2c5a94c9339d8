<?php

declare(strict_types=1);

namespace App\Controllers;

use CodeIgniter\HTTP\DownloadResponse;
use CodeIgniter\HTTP\RedirectResponse;
use CodeIgniter\HTTP\ResponseInterface;
use RuntimeException;

/** Pages by which a test sees whether requests of one process know of each other. */
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
            'server' => service('superglobals')->server('HTTP_X_MARK'),
            'uri' => uri_string(),
            'method' => $this->request->getMethod(),
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
