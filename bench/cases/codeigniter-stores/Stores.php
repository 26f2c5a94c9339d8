<?php

declare(strict_types=1);

namespace App\Controllers;

use CodeIgniter\HTTP\ResponseInterface;

/** One row by its key and twenty of an index, ten values of the cache, and a session that begins. */
class Stores extends BaseController
{
    public function index(): ResponseInterface
    {
        $articles = db_connect()->table('article');
        $one = $articles->where('id', 7)->get()->getRowArray();
        $department = $articles->select('name, price')->where('department', 7)
            ->orderBy('price')->limit(20)->get()->getResultArray();
        $values = [];
        for ($number = 1; $number <= 10; ++$number) {
            $values[] = cache()->remember("page_$number", 3600, static fn (): string => str_repeat("cached $number ", 40));
        }
        session()->set('seen', (int) session()->get('seen') + 1);

        return $this->response->setJSON([
            'article' => $one,
            'department' => $department,
            'values' => $values,
            'session' => session()->get('seen') > 0,
        ]);
    }
}
