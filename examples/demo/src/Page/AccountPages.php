<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\Response;
use Caravan\Model\Accounts;

/**
 * Logging in and out.
 */
final class AccountPages
{
    public function __construct(private readonly App $app)
    {
    }

    public function form(): Response
    {
        return $this->loginPage('', null, 200);
    }

    public function login(): Response
    {
        $this->app->session()->checkCsrf();
        $request = $this->app->request;
        $accounts = new Accounts($this->app->store());
        $address = $request->server('REMOTE_ADDR');
        $wait = $accounts->attempt($address);
        if ($wait > 0) {
            $problem = "Too many wrong passwords. Try again in $wait seconds.";
            return $this->loginPage($request->field('name'), $problem, 429)->with('Retry-After', (string) $wait);
        }
        $user = $accounts->check($request->field('name'), $request->rawField('password'));
        if ($user === null) {
            return $this->loginPage($request->field('name'), 'This name and password do not belong together.', 422);
        }
        $accounts->forgive($address);
        $this->app->session()->renew(['user' => $user, 'flash' => "Welcome aboard, {$user['name']}."]);
        return Response::seeOther('/journal');
    }

    public function logout(): Response
    {
        $this->app->session()->checkCsrf();
        $this->app->session()->renew(['flash' => 'You are logged out. Safe travels.']);
        return Response::seeOther('/');
    }

    private function loginPage(string $name, ?string $problem, int $status): Response
    {
        return $this->app->view->page('login', 'Log in', [
            'name' => $name,
            'problem' => $problem,
            'csrf' => $this->app->session()->csrfToken(),
        ], $status);
    }
}
