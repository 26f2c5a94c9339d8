<?php

// Writes the same file as the Composer plugin of Symfony Runtime.
$template = file_get_contents('/usr/share/php/Symfony/Component/Runtime/Internal/autoload_runtime.template');
file_put_contents('vendor/autoload_runtime.php', strtr($template, [
    '%runtime_class%' => var_export(Symfony\Component\Runtime\SymfonyRuntime::class, true),
    '%runtime_options%' => '["project_dir" => dirname(__DIR__), "disable_dotenv" => true, "env" => "prod"]',
]));
