<?php

declare(strict_types=1);

return [
    'name' => 'Catalogue',
    'env' => 'production',
    'debug' => false,
    'timezone' => 'UTC',
    'locale' => 'en',
    'key' => 'base64:'.base64_encode('only for benchmarks, 32 bytes...'),
    'cipher' => 'AES-256-CBC',
    'providers' => [
        Illuminate\Bus\BusServiceProvider::class,
        Illuminate\Encryption\EncryptionServiceProvider::class,
        Illuminate\Filesystem\FilesystemServiceProvider::class,
        Illuminate\Foundation\Providers\FoundationServiceProvider::class,
        Illuminate\Translation\TranslationServiceProvider::class,
        Illuminate\Validation\ValidationServiceProvider::class,
        Illuminate\View\ViewServiceProvider::class,
        App\Routes::class,
    ],
    'aliases' => [],
];
