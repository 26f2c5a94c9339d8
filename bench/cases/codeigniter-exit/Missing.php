<?php

declare(strict_types=1);

namespace App\Controllers;

use CodeIgniter\HTTP\ResponseInterface;

/** One 404 in two ways: returned to the framework, or sent by a controller that ends by exit. */
class Missing extends BaseController
{
    public function index(): ResponseInterface
    {
        $this->response->setStatusCode(404)->setBody("There is no such page.\n");
        if ($this->request->getGet('exit') !== null) {
            $this->response->send();
            exit;
        }

        return $this->response;
    }
}
