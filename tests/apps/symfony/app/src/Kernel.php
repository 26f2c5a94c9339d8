<?php

declare(strict_types=1);

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\ResponseHeaderBag;
use Symfony\Component\HttpFoundation\Session\SessionInterface;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Exception\HttpException;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Twig\Environment;

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new TwigBundle()];
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    public function home(Request $request): Response
    {
        $session = $request->getSession();
        $user = $session->get('user');
        $notes = $user === null ? [] : $this->notes()->all();
        return new Response(Notes::page('Symfony', $user, $notes, self::token($session)));
    }

    public function loginForm(Request $request): Response
    {
        return new Response(Notes::login(self::token($request->getSession())));
    }

    public function login(Request $request): Response
    {
        self::check($request);
        if ($request->request->get('name') !== 'asha' || $request->request->get('password') !== 'howdah') {
            return new Response(Notes::login(self::token($request->getSession()), 'Wrong password'), 422);
        }
        $request->getSession()->migrate(true);
        $request->getSession()->set('user', 'asha');
        return new RedirectResponse('/');
    }

    public function logout(Request $request): Response
    {
        self::check($request);
        $request->getSession()->invalidate();
        return new RedirectResponse('/');
    }

    public function note(Request $request): Response
    {
        self::check($request);
        $file = $request->files->get('file');
        $this->notes()->add((string) $request->request->get('text'), $file === null ? null
            : static fn (string $path) => $file->move(dirname($path), basename($path)));
        return new RedirectResponse('/');
    }

    public function json(Request $request): Response
    {
        return new JsonResponse([
            'method' => $request->getMethod(),
            'path' => $request->getPathInfo(),
            'query' => $request->query->all(),
            'body' => json_decode($request->getContent(), true),
            'secure' => $request->isSecure(),
        ]);
    }

    public function hello(string $name, Environment $twig): Response
    {
        return new Response($twig->render('hello.html.twig', ['name' => $name]));
    }

    public function download(int $id): Response
    {
        $response = new BinaryFileResponse($this->notes()->file($id), 200, ['Content-Type' => 'image/png']);
        return $response->setContentDisposition(ResponseHeaderBag::DISPOSITION_ATTACHMENT, 'nöte.png', 'note.png');
    }

    public function cookies(): Response
    {
        $response = new Response('two cookies');
        $response->headers->setCookie(Cookie::create('one', '1'));
        $response->headers->setCookie(Cookie::create('two', 'a b', 0, '/', null, false, false, false, 'strict'));
        return $response;
    }

    public function stream(): Response
    {
        return new StreamedResponse(static function (): void {
            foreach ([1, 2, 3] as $part) {
                echo "part $part\n";
                flush();
            }
        }, 200, ['Content-Type' => 'text/plain', 'X-Accel-Buffering' => 'no']);
    }

    public function throw(): never
    {
        throw new RuntimeException('thrown on purpose');
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'a secret of the tests',
            'http_method_override' => false,
            'session' => [
                'handler_id' => null,
                'save_path' => '%kernel.project_dir%/data',
                'storage_factory_id' => 'session.storage.factory.native',
                'cookie_secure' => 'auto',
                'cookie_samesite' => 'lax',
            ],
            'php_errors' => ['log' => true],
            'router' => ['utf8' => true],
        ]);
        $container->extension('twig', ['default_path' => '%kernel.project_dir%/templates']);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $pages = [
            ['/', 'home', 'GET'], ['/login', 'loginForm', 'GET'], ['/login', 'login', 'POST'],
            ['/logout', 'logout', 'POST'], ['/notes', 'note', 'POST'], ['/json', 'json', 'GET|PUT'],
            ['/hello/{name}', 'hello', 'GET'], ['/download/{id}', 'download', 'GET'],
            ['/cookies', 'cookies', 'GET'], ['/stream', 'stream', 'GET'], ['/throw', 'throw', 'GET'],
        ];
        foreach ($pages as [$path, $name, $methods]) {
            $routes->add($name, $path)->controller(['kernel', $name])->methods(explode('|', $methods));
        }
    }

    private function notes(): Notes
    {
        return new Notes($this->getProjectDir() . '/data');
    }

    private static function token(SessionInterface $session): string
    {
        if (!$session->has('token')) {
            $session->set('token', bin2hex(random_bytes(16)));
        }
        return $session->get('token');
    }

    private static function check(Request $request): void
    {
        if (!hash_equals(self::token($request->getSession()), (string) $request->request->get('_token'))) {
            throw new HttpException(419, 'Page expired');
        }
    }
}
