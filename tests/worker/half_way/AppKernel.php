<?php

declare(strict_types=1);

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

final class Login
{
    public ?string $user = null;

    public function reset(): void
    {
        $this->user = null;
    }
}

final class AppKernel extends Kernel
{
    use MicroKernelTrait;

    private ?Closure $next = null;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    public function getProjectDir(): string
    {
        return (string) getenv('HALF_WAY_DIR');
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'of the tests',
            'http_method_override' => false,
            'router' => ['utf8' => true],
        ]);
        $container->services()->set(Login::class, Login::class)->public()->tag('kernel.reset', ['method' => 'reset']);
        $container->services()->alias('requests', 'request_stack')->public();
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (['who', 'end', 'again'] as $name) {
            $routes->add($name, "/$name")->controller(['kernel', $name]);
        }
    }

    /** The login, and the requests that the kernel considers in flight. */
    public function who(Request $request): Response
    {
        $login = $this->getContainer()->get(Login::class);
        $login->user = $request->query->get('login', $login->user);
        $requests = $this->getContainer()->get('requests');
        return new Response(sprintf(
            '%s in %s below %s',
            $login->user ?? 'nobody',
            $requests->getMainRequest()?->getPathInfo(),
            $requests->getParentRequest()?->getPathInfo() ?? 'none',
        ));
    }

    public function end(Request $request): Response
    {
        $this->getContainer()->get(Login::class)->user = 'mallory';
        HalfWay\leave($request->query->get('way'), function (Closure $next): void {
            $this->next = $next;
            $this->handle(Request::create('/again'), HttpKernelInterface::MAIN_REQUEST);
        });
        return new Response('ended');
    }

    public function again(): Response
    {
        $next = $this->next;
        $next();
        return new Response();
    }
}
