<?php

declare(strict_types=1);

namespace App\Controllers;

use function HalfWay\leave;

/** A login in the data of the shared renderer, and ways in which the code of a request is interrupted. */
class HalfWay extends BaseController
{
    public function who(): string
    {
        $view = service('renderer');
        $login = $this->request->getGet('login');
        if ($login !== null) {
            $view->setVar('login', $login);
        }
        assert(service('request') === $this->request && uri_string() === 'halfway/who');
        return $view->getData()['login'] ?? 'nobody';
    }

    public function end(): string
    {
        service('renderer')->setVar('login', 'mallory');
        leave($this->request->getGet('way'), static function (callable $code): mixed {
            $view = service('renderer');
            try {
                return $code();
            } finally {
                $view->resetData();
            }
        });
        return 'ended';
    }
}
