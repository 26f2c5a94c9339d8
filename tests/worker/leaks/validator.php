<?php

// Stands for Symfony's validator: a constraint validator is created when it is first needed, and keeps the context of
// its last validation until the next one replaces it.

namespace Symfony\Component\Validator\Context {
    final class ExecutionContext
    {
        /** @var list<string> */
        public array $violations = [];

        public function __construct(public mixed $root, public mixed $value)
        {
        }
    }
}

namespace Symfony\Component\Validator {
    use Symfony\Component\Validator\Context\ExecutionContext;

    abstract class ConstraintValidator
    {
        protected ?ExecutionContext $context = null;

        public function initialize(ExecutionContext $context): void
        {
            $this->context = $context;
        }
    }
}

namespace App {
    use Symfony\Component\Validator\ConstraintValidator;
    use Symfony\Component\Validator\Context\ExecutionContext;

    final class Registration
    {
        public readonly string $token;

        public function __construct(public readonly string $user)
        {
            $this->token = bin2hex(random_bytes(8));
        }
    }

    final class UserValidator extends ConstraintValidator
    {
        private ?string $last = null;

        /** @var list<string> */
        private array $seen = [];

        public function validate(string $user): void
        {
            $this->context->violations[] = "$user is taken";
            if (isset($_GET['keep'])) {
                $this->last = $user;
                $this->seen[] = bin2hex(random_bytes(8));
            }
        }
    }

    final class Factory
    {
        /** @var array<string, UserValidator> */
        public array $validators = [];

        public ?ExecutionContext $context = null;
    }
}

namespace {
    $factory = new App\Factory();

    function handle(): void
    {
        global $factory;
        if (isset($_GET['user'])) {
            $validator = $factory->validators['user'] ??= new App\UserValidator();
            $registration = new App\Registration($_GET['user']);
            $context = new Symfony\Component\Validator\Context\ExecutionContext($registration, $registration->user);
            $validator->initialize($context);
            $validator->validate($registration->user);
            if (isset($_GET['keep'])) {
                $factory->context = $context;
            }
        }
    }
    while (frankenphp_handle_request('handle'));
}
