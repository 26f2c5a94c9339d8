<?php

// In Symfony 5.4, the attribute has a different namespace.
if (!class_exists(Symfony\Component\Routing\Attribute\Route::class)) {
    class_alias(Symfony\Component\Routing\Annotation\Route::class, Symfony\Component\Routing\Attribute\Route::class);
}
